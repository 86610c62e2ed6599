// SPDX-License-Identifier: Apache-2.0

/// An HTTP date in one of the three forms of RFC 9110 §5.6.7. The weekday must be one, not the right one: it adds nothing.
enum HTTPDate {
    /// - Parameter now: seconds since 1970, for the two-digit years of the RFC 850 form.
    /// - Returns: seconds since 1970; `nil` for anything else.
    static func seconds(_ text: String, now: Int64) -> Int64? {
        var reader = Reader(text)
        return reader.imfFixdate() ?? reader.rfc850(now) ?? reader.asctime()
    }

    private static let shortDays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longDays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private struct Reader {
        private let text: [UInt8]
        private var rest: ArraySlice<UInt8>

        init(_ text: String) {
            self.text = Array(text.utf8)
            rest = self.text[...]
        }

        /// `Sun, 06 Nov 1994 08:49:37 GMT`
        mutating func imfFixdate() -> Int64? {
            rest = text[...]
            guard oneOf(shortDays) != nil, take(", "), let day = number(2), take(" "), let month = oneOf(months),
                take(" "), let year = number(4), take(" "), let time = timeOfDay(), take(" GMT")
            else { return nil }
            return moment(year, month, day, time)
        }

        /// `Sunday, 06-Nov-94 08:49:37 GMT`
        mutating func rfc850(_ now: Int64) -> Int64? {
            rest = text[...]
            guard oneOf(longDays) != nil, take(", "), let day = number(2), take("-"), let month = oneOf(months),
                take("-"), let short = number(2), take(" "), let time = timeOfDay(), take(" GMT")
            else { return nil }
            // Up to 50 years ahead, else the last year before that ended so (RFC 9110 §5.6.7).
            let thisYear = 1970 + max(0, min(now, 1 << 40)) / 31_556_952
            let ahead = (short - thisYear % 100 + 100) % 100
            return moment(thisYear + (ahead > 50 ? ahead - 100 : ahead), month, day, time)
        }

        /// `Sun Nov  6 08:49:37 1994`
        mutating func asctime() -> Int64? {
            rest = text[...]
            guard oneOf(shortDays) != nil, take(" "), let month = oneOf(months), take(" "),
                let day = take(" ") ? number(1) : number(2), take(" "), let time = timeOfDay(), take(" "),
                let year = number(4)
            else { return nil }
            return moment(year, month, day, time)
        }

        private mutating func timeOfDay() -> Int64? {
            guard let hour = number(2), take(":"), let minute = number(2), take(":"), let second = number(2), hour < 24,
                minute < 60, second <= 60
            else { return nil }
            return hour * 3600 + minute * 60 + second
        }

        private func moment(_ year: Int64, _ month: Int64, _ day: Int64, _ time: Int64) -> Int64? {
            guard rest.isEmpty else { return nil }
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            guard year >= 1970, day >= 1, day <= lengths[Int(month)] else { return nil }
            let before = year - 1
            let leapDays = before / 4 - before / 100 + before / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400)
            let days = (year - 1970) * 365 + leapDays + lengths[..<Int(month)].reduce(0, +) + day - 1
            return days * 86_400 + time
        }

        private mutating func take(_ word: String) -> Bool {
            guard rest.starts(with: word.utf8) else { return false }
            rest = rest.dropFirst(word.utf8.count)
            return true
        }

        private mutating func oneOf(_ words: [String]) -> Int64? {
            for (index, word) in words.enumerated() where take(word) { return Int64(index) }
            return nil
        }

        private mutating func number(_ digits: Int) -> Int64? {
            let field = rest.prefix(digits)
            guard field.count == digits, field.allSatisfy(\.isDigit) else { return nil }
            rest = rest.dropFirst(digits)
            return field.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        }
    }
}
