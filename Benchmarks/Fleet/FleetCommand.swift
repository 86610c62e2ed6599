// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import VersolaKit

/// Runs every fleet through every story and prints the figures as JSON, one line for each run.
///
///     fleet [CLIENTS [SEED]]
@main
enum FleetCommand {
    struct Line: Encodable, Sendable {
        var story: String
        var client: String
        /// Mean and worst of the requests of one client, from the beginning of the trouble until it was served.
        var requests: Double
        var mostRequests: Int
        /// The highest number of requests in a second: while the provider was down, and from then on.
        var peakInTrouble: Int
        var peakAfterRecovery: Int
        /// Seconds from the recovery until half of the clients, and all of them, were served; absent: not within the time.
        var halfServed: Double?
        var allServed: Double?
        /// Of one client: calls of its app without a token, and those of them for which nothing was sent.
        var failedCalls: Double
        var refusedByPause: Double
        /// Of one client: requests before the time that it had been told.
        var tooEarly: Double
        /// The highest number of requests in a second, for each five seconds.
        var load: [Int]
    }

    static let capacity = 1_000
    static let kinds: [(String, ClientKind)] = [
        ("never retries", .neverRetries), ("three blind retries", .retriesBlindly), ("versola", .versola(.default)),
    ]
    /// Where the provider names a time it changes nothing.
    static let quota = ("versola with a quota", ClientKind.versolaRepeatingOnlyAfterSuccess(.default))

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) }
        let clients = Int(arguments.first.flatMap { $0 } ?? 100_000)
        let seed = arguments.dropFirst().first.flatMap { $0 } ?? 1
        let runs = Story.allCases.flatMap { story in
            (story == .outage ? kinds + [quota] : kinds).map { (story, $0.0, $0.1) }
        }
        var lines = runs.map { _ in "" }
        try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for (index, (story, name, kind)) in runs.enumerated() {
                group.addTask {
                    let fleet = Fleet(story: story, kind: kind, clients: clients, capacity: capacity, seed: seed)
                    let encoder = JSONEncoder()
                    encoder.outputFormatting = [.sortedKeys]
                    let line = Self.line(story, name, await fleet.run())
                    return (index, String(decoding: try encoder.encode(line), as: UTF8.self))
                }
            }
            for try await (index, line) in group { lines[index] = line }
        }
        print(#"{"clients": \#(clients), "capacity": \#(capacity), "seed": \#(seed), "runs": ["#)
        print(lines.joined(separator: ",\n"))
        print("]}")
    }

    private static func line(_ story: Story, _ name: String, _ result: FleetResult) -> Line {
        let clients = Double(result.requests.count)
        let recovery = Int(story.recovery / 1000)
        let served = result.servedAfter.compactMap { $0 }.sorted()
        let isComplete = served.count == result.servedAfter.count
        return Line(
            story: story.rawValue, client: name, requests: rounded(Double(result.requests.reduce(0, +)) / clients),
            mostRequests: result.requests.max() ?? 0,
            peakInTrouble: result.load[Int(Story.troubleFrom / 1000)..<recovery].max() ?? 0,
            peakAfterRecovery: result.load[recovery...].max() ?? 0,
            halfServed: served.count * 2 >= result.servedAfter.count
                ? rounded(Double(served[result.servedAfter.count / 2]) / 1000) : nil,
            allServed: isComplete ? rounded(Double(served.last ?? 0) / 1000) : nil,
            failedCalls: rounded(Double(result.failedCalls) / clients),
            refusedByPause: rounded(Double(result.refusedByPause) / clients),
            tooEarly: rounded(Double(result.tooEarly) / clients),
            load: stride(from: 0, to: result.load.count, by: 5).map { result.load[$0..<($0 + 5)].max() ?? 0 })
    }

    private static func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}
