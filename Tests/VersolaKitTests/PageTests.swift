// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

@Suite struct PageTests {
    private static let answers: [ListenerAnswer] =
        [ResultPage.signedIn, .denied, .failed, .replaced, .alreadyUsed, .pending].map(ListenerAnswer.result)
        + LoopbackRefusal.allCases.map(ListenerAnswer.refusal)

    private func render(_ answer: ListenerAnswer, _ acceptLanguage: String? = nil) -> (head: String, body: String) {
        let bytes = ResultPageRenderer.response(to: answer, acceptLanguage: acceptLanguage)
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return (text, "") }
        return (String(text[..<end.upperBound]), String(text[end.upperBound...]))
    }

    @Test func everyPageIsSealedOff() {
        for answer in Self.answers {
            let (head, body) = render(answer)
            for line in [
                "Content-Type: text/html; charset=utf-8", "Content-Length: \(body.utf8.count)",
                "Cache-Control: no-store", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff",
                "Vary: Accept-Language", "Connection: close",
            ] {
                #expect(head.contains("\r\n\(line)\r\n"))
            }
            #expect(head.contains("\r\nContent-Security-Policy: default-src 'none'; style-src 'sha256-"))
            #expect(head.contains("; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"))
            #expect(!head.dropLast(4).contains("\r\n\r\n"))
            for forbidden in ["<script", "<form", "<link", "<img", "<a ", "http", "url(", "@import", "src=", "style="] {
                #expect(!body.contains(forbidden), "\(forbidden)")
            }
        }
    }

    @Test func statusSaysHowItWent() {
        let expected: [(ListenerAnswer, Int)] = [
            (.result(.signedIn), 200), (.result(.signedOut), 200), (.result(.pending), 200), (.result(.denied), 200),
            (.result(.failed), 200), (.result(.replaced), 200), (.result(.alreadyUsed), 200),
        ]
        for (answer, code) in expected { #expect(httpStatus(render(answer).head) == code) }
        for refusal in LoopbackRefusal.allCases {
            #expect(httpStatus(render(.refusal(refusal)).head) == refusal.rawValue)
        }
    }

    @Test func bothLanguagesSayWhatHappenedAndWhatToDo() {
        for answer in Self.answers {
            let english = render(answer, "en")
            let russian = render(answer, "ru")
            for (page, tag) in [(english, "en"), (russian, "ru")] {
                #expect(page.head.contains("\r\nContent-Language: \(tag)\r\n"))
                #expect(page.body.contains("<html lang=\"\(tag)\">"))
            }
            for text in PageLanguage.allCases.map({ ResultPageText(answer, $0) }) {
                #expect(!text.title.isEmpty && text.advice.hasSuffix("."))
                #expect(!(text.title + text.advice).contains { "<>&\"'".contains($0) }, "written into HTML as it is")
            }
        }
        #expect(render(.result(.signedIn), "en").body.contains("<h1>You are signed in</h1>"))
        #expect(render(.result(.signedIn), "ru").body.contains("<h1>Вы вошли</h1>"))
        #expect(render(.result(.failed), "en").body.contains("<p>Return to the app and try again.</p>"))
        #expect(render(.result(.failed), "ru").body.contains("<p>Вернитесь в приложение и попробуйте ещё раз.</p>"))
    }

    @Test func languageByWeight() {
        let rows: [(String?, PageLanguage)] = [
            (nil, PageLanguage.english), ("", .english), ("ru", .russian), ("RU-ru", .russian),
            ("de, fr;q=0.9", .english),
            ("ru-RU,ru;q=0.9,en-US;q=0.8,en;q=0.7", .russian), ("en-US,en;q=0.9,ru;q=0.8", .english),
            ("en;q=0.5, ru", .russian), ("en;q=0.5,ru;q=0.501", .russian), ("en,ru", .english), ("ru,en", .russian),
            ("de,ru;q=0.1", .russian), ("*", .english), ("*, ru", .russian), ("ru;q=0.5, *", .english),
            ("ru;q=0, *", .english), ("en;q=0, *;q=0.1", .russian), ("ru;q=0", .english),
            (" ru ; q=1.000 ,en;Q=0.9", .russian),
            ("ru;q=2, en;q=0.1", .english), ("ru;q=0.5555", .english), ("ru;q=-1", .english), ("ru;q=", .english),
            ("ru;q=1.5", .english), ("ru;level=1", .english), ("ru;q=1;q=1", .english), ("rus", .english),
            ("-,;,=", .english),
            ("q=1;ru", .english), ("\u{0}\u{ff}, ru;q=0.2", .russian),
        ]
        for (acceptLanguage, expected) in rows {
            #expect(PageLanguage(acceptLanguage: acceptLanguage) == expected, "\(acceptLanguage ?? "none")")
        }
    }

    @Test func answerToHeadHasTheHeadOnly() {
        let whole = ResultPageRenderer.response(to: .result(.failed), acceptLanguage: nil)
        let head = ResultPageRenderer.response(to: .result(.failed), acceptLanguage: nil, withBody: false)
        #expect(whole.starts(with: head))
        #expect(String(decoding: head, as: UTF8.self).hasSuffix("\r\n\r\n"))
        #expect(head.count < whole.count)
    }

    /// CSP Level 3 §2.3.1: of the bytes between the tags, as the browser computes it.
    @Test func policyNamesTheStyleSheetThatIsSent() throws {
        let body = render(.result(.signedIn)).body
        let start = try #require(body.firstRange(of: "<style>")).upperBound
        let end = try #require(body.firstRange(of: "</style>")).lowerBound
        let folder = TemporaryFolder()
        folder.write("style.css", String(body[start..<end]))
        let pipe = try #require(popen("openssl dgst -sha256 -binary \(folder.path)/style.css | base64", "r"))
        defer { pclose(pipe) }
        var line = [CChar](repeating: 0, count: 64)
        fgets(&line, 64, pipe)
        let digest = String(decoding: line.map(UInt8.init(bitPattern:)).prefix { $0 > 32 }, as: UTF8.self)
        #expect(digest == ResultPageStyle.sha256)
    }

    @Test func onlyTheRefusalOfAMethodNamesOne() {
        for answer in Self.answers {
            #expect(render(answer).head.contains("\r\nAllow: GET\r\n") == (answer == .refusal(.methodNotAllowed)))
        }
    }

    /// WCAG 2.2 §1.4.3: 4.5 for text, 3 for the sign (§1.4.11), in both schemes.
    @Test func coloursCanBeTold() throws {
        let schemes = ResultPageStyle.css.split(separator: "@media (prefers-color-scheme: dark)")
        #expect(schemes.count == 2)
        for scheme in schemes {
            func colour(_ name: String) throws -> Double {
                let value = try #require(scheme.split(separator: "--\(name): #").dropFirst().first)
                return luminance(try #require(UInt32(value.prefix(6), radix: 16)))
            }
            let card = try colour("card")
            for text in ["ink", "soft"] { #expect(contrast(try colour(text), card) >= 4.5) }
            for sign in ["good", "bad", "calm"] { #expect(contrast(try colour(sign), card) >= 3) }
        }
    }

    private func contrast(_ one: Double, _ other: Double) -> Double {
        (max(one, other) + 0.05) / (min(one, other) + 0.05)
    }

    private func luminance(_ colour: UInt32) -> Double {
        func channel(_ shift: UInt32) -> Double {
            let value = Double((colour >> shift) & 0xff) / 255
            return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0)
    }
}
