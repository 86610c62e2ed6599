// SPDX-License-Identifier: Apache-2.0

/// The languages the result page speaks; the raw value is the tag (RFC 5646).
enum PageLanguage: String, CaseIterable, Sendable {
    case english = "en"
    case russian = "ru"

    /// The one the person likes best by `Accept-Language` (RFC 9110 §12.5.4); English when it names none of ours.
    init(acceptLanguage: String?) {
        let ranges = (acceptLanguage ?? "").split(separator: ",").compactMap(Self.range)
        func quality(_ language: PageLanguage) -> Int {
            let named = ranges.filter { $0.primary == language.rawValue }.map(\.quality).max()
            return named ?? ranges.first { $0.primary == "*" }?.quality ?? 0
        }
        var best = (language: PageLanguage.english, quality: 0)
        // Among equals, the one named first.
        for language in ranges.compactMap({ PageLanguage(rawValue: $0.primary) }) + Self.allCases {
            let quality = quality(language)
            if quality > best.quality { best = (language, quality) }
        }
        self = best.language
    }

    /// The first subtag, which decides (there is one Russian and one English), and the weight in thousandths. A malformed
    /// range says nothing.
    private static func range(_ text: Substring) -> (primary: String, quality: Int)? {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false).map(trimmed)
        guard let tag = parts.first, let primary = tag.split(separator: "-").first else { return nil }
        switch parts.count {
        case 1: return (primary.lowercased(), 1000)
        case 2: return quality(parts[1]).map { (primary.lowercased(), $0) }
        default: return nil
        }
    }

    /// RFC 9110 §12.4.2: `q=` and 0 to 1 with at most three digits.
    private static func quality(_ weight: Substring) -> Int? {
        guard weight.lowercased().hasPrefix("q=") else { return nil }
        let number = weight.dropFirst(2).split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let digits = number.count > 1 ? number[1] : ""
        guard digits.utf8.count <= 3, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let thousandths = Int(digits + String(repeating: "0", count: 3 - digits.utf8.count))
        else { return nil }
        switch number.first {
        case "0": return thousandths
        case "1" where thousandths == 0: return 1000
        default: return nil
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
