// SPDX-License-Identifier: Apache-2.0
import Glibc

@testable import VersolaKit

/// 2026-10-30 12:00:00 UTC.
private let noon: Int64 = 1_793_361_600
private let ceiling: Int64 = 86_400
private let year10000: Int64 = 253_402_300_800

/// First line: an answer's `Date`; second: its `Retry-After`; third: the device clock, in seconds since 1970.
@Sendable
func fuzzRetry(_ input: [UInt8]) {
    let parts = parts(input, 3).map(text)
    let (date, value) = (parts[0], parts[1])
    let clock = Int64(parts[2]).flatMap { (0..<year10000 / 2).contains($0) ? $0 : nil } ?? noon

    func asked(_ values: String..., status: Int = 429, dates: [String] = [date], clock: Int64 = clock) -> Int64? {
        let fields =
            values.map { HTTPField(name: "Retry-After", value: $0) } + dates.map { HTTPField(name: "Date", value: $0) }
        return RetryAfter.millis(HTTPResponse(status: status, fields: fields, body: []), wall: clock * 1000)
    }

    let read = asked(value)
    precondition(read.map { (0...ceiling * 1000).contains($0) && $0 % 1000 == 0 } ?? true)
    precondition(asked(value, status: 503) == read && asked(value, status: 500) == nil)
    precondition(asked(" \t\(value)\t ") == read)
    precondition(asked() == nil && asked(value, value) == nil && asked("\(value), \(value)") == nil)

    if !value.isEmpty, value.utf8.allSatisfy(\.isDigit) {
        let digits = value.utf8.drop { $0 == UInt8(ascii: "0") }
        let seconds = digits.count > 5 ? ceiling : digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        precondition(read == min(seconds, ceiling) * 1000)
        precondition(asked(value, dates: [], clock: 0) == read)
    }
    if let seconds = HTTPDate.seconds(value, now: clock) { precondition(isWritten(value, seconds)) }

    guard let now = HTTPDate.seconds(date, now: clock) else { return }
    precondition(isWritten(date, now))
    precondition(asked(date) == 0)
    // What the device clock says does not matter any more.
    let later = now + Int64(input.count * 7919 % 100_000)
    guard now > 0, later < year10000 else { return }
    for format in ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y", "%a, %d %b %Y %H:%M:%S GMT"] {
        let dates = [written(now)]
        precondition(asked(written(later, format), dates: dates, clock: 0) == min(later - now, ceiling) * 1000)
        precondition(asked(written(now - 1, format), dates: dates, clock: 0) == nil)
    }
}

/// Whether the C library, which reads no HTTP dates, would have written the text; the day of the week aside, which may be
/// the wrong one, and a leap second, which is the first of the next minute.
private func isWritten(_ text: String, _ seconds: Int64) -> Bool {
    guard (0...year10000).contains(seconds) else { return false }
    let rest = text.drop { $0.isLetter }
    let formats = [
        ", %d %b %Y %H:%M:%S GMT", ", %d-%b-%y %H:%M:%S GMT", " %b %e %H:%M:%S %Y", " %b %d %H:%M:%S %Y",
    ]
    return rest.contains(":60") || formats.contains { rest == written(seconds, $0)[...] }
}

private func written(_ seconds: Int64, _ format: String = "%a, %d %b %Y %H:%M:%S GMT") -> String {
    var (seconds, fields) = (time_t(seconds), tm())
    gmtime_r(&seconds, &fields)
    var buffer = [CChar](repeating: 0, count: 64)
    let count = strftime(&buffer, buffer.count, format, &fields)
    return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
}
