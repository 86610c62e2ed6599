// SPDX-License-Identifier: Apache-2.0

/// The sign above the words, drawn in the page itself. It repeats what the words say, so screen readers skip it.
enum ResultPageMark: String, Sendable {
    case good, bad, calm

    init(_ answer: ListenerAnswer) {
        self =
            switch answer {
            case .result(.signedIn), .result(.signedOut): .good
            case .result(.denied), .result(.failed): .bad
            case .result(.replaced), .result(.alreadyUsed), .result(.pending), .refusal: .calm
            }
    }

    var svg: String {
        let drawing =
            switch self {
            case .good: "M16.5 24.5l5.5 5.5 10-11.5"
            case .bad: "M24 14.5v11.5M24 32.5v.01"
            case .calm: "M24 22v11.5M24 15.5v.01"
            }
        return """
            <svg class="\(rawValue)" viewBox="0 0 48 48" aria-hidden="true"><circle cx="24" cy="24" r="24" \
            fill="currentColor" opacity=".13"/><path d="\(drawing)" fill="none" stroke="currentColor" stroke-width="3.5" \
            stroke-linecap="round" stroke-linejoin="round"/></svg>
            """
    }
}
