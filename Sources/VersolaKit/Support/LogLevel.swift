// SPDX-License-Identifier: Apache-2.0

/// How loud a log line is; the numbers are those of `versola_log_level`.
public enum LogLevel: Int32, Sendable, Comparable, CaseIterable {
    case error = 1
    case warning = 2
    case info = 3
    case debug = 4

    public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}
