// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

/// Behaviour §3, Retry-After: what is read (case B29).
@Suite struct RetryDateTests {
    /// 2026-10-30 12:00:00 UTC.
    private static let noon: Int64 = 1_793_361_600
    private static let date = "Fri, 30 Oct 2026 12:00:00 GMT"

    private static func millis(
        _ retryAfter: String..., status: Int = 429, dates: [String] = [date], wall: WallMillis = noon * 1000
    ) -> Int64? {
        let fields =
            retryAfter.map { HTTPField(name: "retry-AFTER", value: $0) }
            + dates.map { HTTPField(name: "Date", value: $0) }
        return RetryAfter.millis(HTTPResponse(status: status, fields: fields, body: []), wall: wall)
    }

    // MARK: HTTP dates

    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
        (date, noon), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
        ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ])
    func theThreeFormsOfRFC9110(text: String, seconds: Int64) {
        #expect(HTTPDate.seconds(text, now: Self.noon) == seconds)
    }

    @Test func aWrongWeekdayChangesNothing() {
        #expect(HTTPDate.seconds("Mon, 30 Oct 2026 12:00:00 GMT", now: 0) == Self.noon)
        #expect(HTTPDate.seconds("Monday, 30-Oct-26 12:00:00 GMT", now: Self.noon) == Self.noon)
        #expect(HTTPDate.seconds("Mon Oct 30 12:00:00 2026", now: 0) == Self.noon)
    }

    @Test(arguments: [
        // In 2026 a two-digit year is of this century up to 76, and of the last one above.
        ("Friday, 01-Jan-76 00:00:00 GMT", noon, 3_345_062_400), ("Friday, 01-Jan-77 00:00:00 GMT", noon, 220_924_800),
        // In 2099 it may be of the next one.
        ("Friday, 01-Jan-00 00:00:00 GMT", 4_095_000_000, 4_102_444_800),
    ])
    func aTwoDigitYearMoreThan50YearsAheadIsOfTheCenturyBefore(text: String, now: Int64, seconds: Int64) {
        #expect(HTTPDate.seconds(text, now: now) == seconds)
    }

    @Test(arguments: [
        "", " ", "now", "Fri", "Fri,", "Fri, 30 Oct 2026", "Fri, 30 Oct 2026 12:00:00", "Fri, 30 Oct 2026 12:00:00 UTC",
        "Fri, 30 Oct 2026 12:00:00 +0000", "Fri, 30 Oct 2026 12:00:00 GMT ", " Fri, 30 Oct 2026 12:00:00 GMT",
        "Fri, 30 Oct 2026 12:00:00 GMT, Fri, 30 Oct 2026 12:00:00 GMT", "Xyz, 30 Oct 2026 12:00:00 GMT",
        "Fri, 30 Okt 2026 12:00:00 GMT", "Fri, 0 Oct 2026 12:00:00 GMT", "Fri, 00 Oct 2026 12:00:00 GMT",
        "Fri, 32 Oct 2026 12:00:00 GMT", "Mon, 30 Feb 2026 12:00:00 GMT", "Sun, 29 Feb 2026 12:00:00 GMT",
        "Mon, 29 Feb 2100 12:00:00 GMT", "Fri, 30 Oct 26 12:00:00 GMT", "Fri, 30 Oct -026 12:00:00 GMT",
        "Fri, 30 Oct 2026 24:00:00 GMT", "Fri, 30 Oct 2026 12:60:00 GMT", "Fri, 30 Oct 2026 12:00:61 GMT",
        "Fri, 30 Oct 2026 +1:00:00 GMT", "Sun, 31 Dec 1899 23:59:59 GMT", "Fri Oct 30 12:00:00 2026 GMT",
        "2026-10-30T12:00:00Z", "Friday, 30-Oct-2026 12:00:00 GMT", "Fri, 30-Oct-26 12:00:00 GMT",
        "Fri, ٣٠ Oct 2026 12:00:00 GMT", "fri, 30 oct 2026 12:00:00 gmt",
    ])
    func anythingElseIsNone(text: String) {
        #expect(HTTPDate.seconds(text, now: Self.noon) == nil)
    }

    // MARK: Retry-After

    @Test(arguments: [
        ("120", 120_000), ("0", 0), ("00", 0), ("0030", 30_000), (" 7\t", 7_000), ("86400", 86_400_000),
        ("Fri, 30 Oct 2026 12:00:04 GMT", 4_000), ("Friday, 30-Oct-26 12:00:04 GMT", 4_000),
        ("Fri Oct 30 12:00:04 2026", 4_000), ("Mon, 30 Oct 2026 12:00:04 GMT", 4_000),
    ])
    func wholeSecondsOrADate(value: String, millis: Int64) {
        #expect(Self.millis(value) == millis)
        #expect(Self.millis(value, status: 503) == millis)
    }

    @Test func aDateIsMeasuredAgainstTheAnswersOwnDate() {
        // The device clock is an hour off.
        #expect(Self.millis("Fri, 30 Oct 2026 12:00:04 GMT", wall: (Self.noon + 3_600) * 1000) == 4_000)
        #expect(Self.millis("Fri, 30 Oct 2026 12:00:04 GMT", wall: (Self.noon - 3_600) * 1000) == 4_000)
        #expect(Self.millis("Fri, 30 Oct 2026 12:00:04 GMT", dates: ["Friday, 30-Oct-26 12:00:01 GMT"]) == 3_000)
        // A machine without a clock is in 1970, where a year 26 would be 1926.
        #expect(Self.millis("Friday, 30-Oct-26 12:00:04 GMT", wall: 0) == 4_000)
    }

    @Test func aDateEqualToTheAnswersOwnIsZero() {
        #expect(Self.millis(Self.date) == 0)
    }

    @Test(arguments: [[], ["yesterday"], [""], [date, date], ["Fri, 30 Oct 2026 12:00:00 GMT, x"]])
    func withoutAUsableDateItIsMeasuredAgainstTheDeviceClock(dates: [String]) {
        #expect(Self.millis("Fri, 30 Oct 2026 12:00:04 GMT", dates: dates, wall: (Self.noon + 1) * 1000) == 3_000)
    }

    @Test(arguments: [
        "-1", "-0", "+5", "1.5", "1,5", "1e3", "0x10", "soon", "", " ", "\t", "10s", "10 20", "120, 120", "٣",
        "Fri, 30 Oct 2026 11:59:59 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "Fri, 30 Feb 2026 12:00:04 GMT",
        "Fri, 30 Oct 2026 12:00:04 GMT, Fri, 30 Oct 2026 12:00:04 GMT",
    ])
    func malformedIsAbsent(value: String) {
        #expect(Self.millis(value) == nil)
    }

    @Test func twoHeaderLinesAreAbsent() {
        #expect(Self.millis("120", "120") == nil)
        #expect(Self.millis("120", "") == nil)
        #expect(Self.millis() == nil)
    }

    @Test(arguments: [
        "86401", "4294967296", "9223372036854775", "9223372036854775807", "9223372036854775808", "18446744073709551616",
        String(repeating: "9", count: 5_000), "Sat, 31 Oct 2026 12:00:01 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
    ])
    func theCeilingIsADay(value: String) {
        #expect(Self.millis(value) == 86_400_000)
    }

    @Test(arguments: (100...599).filter { $0 != 429 && $0 != 503 })
    func onOtherStatusesItIsIgnored(status: Int) {
        #expect(Self.millis("120", status: status) == nil)
    }
}
