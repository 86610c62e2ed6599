// SPDX-License-Identifier: Apache-2.0

/// What the listener answers a browser with.
enum ListenerAnswer: Equatable, Sendable {
    case result(ResultPage)
    case refusal(LoopbackRefusal)
}

/// Turns an answer into the bytes of an HTTP response. Nothing of the request but the choice of language goes into it: there
/// is no input to echo, so none to escape.
enum ResultPageRenderer {
    /// - Parameters:
    ///   - acceptLanguage: the request's field, as received.
    ///   - withBody: false for HEAD (RFC 9110 §9.3.2).
    static func response(to answer: ListenerAnswer, acceptLanguage: String?, withBody: Bool = true) -> [UInt8] {
        let language = PageLanguage(acceptLanguage: acceptLanguage)
        let page = html(answer, language)
        let status = statusLine(answer)
        var head = """
            HTTP/1.1 \(status)\r
            Content-Type: text/html; charset=utf-8\r
            Content-Length: \(page.utf8.count)\r
            Content-Language: \(language.rawValue)\r
            Vary: Accept-Language\r
            Cache-Control: no-store\r
            Referrer-Policy: no-referrer\r
            X-Content-Type-Options: nosniff\r
            Content-Security-Policy: \(contentSecurityPolicy)\r
            Connection: close\r

            """
        // RFC 9110 §15.5.6.
        if answer == .refusal(.methodNotAllowed) { head += "Allow: GET\r\n" }
        head += "\r\n"
        return Array(head.utf8) + (withBody ? Array(page.utf8) : [])
    }

    /// The style sheet is allowed by its digest; everything else a page could do is off.
    static let contentSecurityPolicy =
        "default-src 'none'; style-src 'sha256-\(ResultPageStyle.sha256)'; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'none'"

    private static func statusLine(_ answer: ListenerAnswer) -> String {
        switch answer {
        // The request was served, however the login went: what the page says is not for the browser's error handling.
        case .result: "200 OK"
        case .refusal(let refusal): "\(refusal.rawValue) \(refusal.reason)"
        }
    }

    private static func html(_ answer: ListenerAnswer, _ language: PageLanguage) -> String {
        let text = ResultPageText(answer, language)
        let mark = ResultPageMark(answer)
        return """
            <!doctype html>
            <html lang="\(language.rawValue)">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(text.title)</title>
            <style>\(ResultPageStyle.css)</style>
            </head>
            <body>
            <main>
            \(mark.svg)
            <h1>\(text.title)</h1>
            <p>\(text.advice)</p>
            </main>
            </body>
            </html>

            """
    }
}
