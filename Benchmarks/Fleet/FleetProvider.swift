// SPDX-License-Identifier: Apache-2.0
@testable import VersolaKit

/// The token endpoint as all clients meet it: down for a while, and never able to serve more than so many in a second.
/// Refusing costs it nothing and answers take no time, which flatters those who knock often.
final class FleetProvider: Sendable {
    struct Books: Sendable {
        /// Requests that arrived, for each second.
        var load: [Int] = []
        /// Requests of a client from the beginning of the trouble until it was served again.
        var requests: [Int] = []
        /// Requests that arrived before the time that the client had been told, last of all.
        var tooEarly = 0
        fileprivate var quietUntil: [Int64] = []
        fileprivate var served = (second: Int64(-1), count: 0)
        fileprivate var random: SplitMix
    }

    let story: Story
    let capacity: Int
    private let books: Lock<Books>

    init(_ story: Story, clients: Int, capacity: Int, seconds: Int, seed: UInt64) {
        self.story = story
        self.capacity = capacity
        var books = Books(random: SplitMix(seed))
        books.load = Array(repeating: 0, count: seconds)
        books.requests = Array(repeating: 0, count: clients)
        books.quietUntil = Array(repeating: 0, count: clients)
        self.books = Lock(books)
    }

    var result: Books { books.withLock { $0 } }

    /// - Parameter isWaiting: the client has not been served since the trouble began.
    func answer(_ client: Int, now: Int64, isWaiting: Bool) -> Result<HTTPResponse, TransportFailure> {
        books.withLock { books in
            let second = now / 1000
            books.load[Int(second)] += 1
            if isWaiting { books.requests[client] += 1 }
            if now < books.quietUntil[client] { books.tooEarly += 1 }
            if story.isDown(now) {
                if story == .outage, books.random.below(2) == 0 { return .failure(Self.refused) }
                return .success(refusal(client, now, &books))
            }
            if books.served.second != second { books.served = (second, 0) }
            guard books.served.count < capacity else { return .success(refusal(client, now, &books)) }
            books.served.count += 1
            return .success(HTTPResponse(status: 200, fields: [], body: []))
        }
    }

    private func refusal(_ client: Int, _ now: Int64, _ books: inout Books) -> HTTPResponse {
        var fields: [HTTPField] = []
        if let value = story.retryAfter(now), let asked = story.askedMillis(now) {
            fields.append(HTTPField(name: "Date", value: FleetTime.date(now)))
            fields.append(HTTPField(name: "Retry-After", value: value))
            books.quietUntil[client] = now + asked
        }
        return HTTPResponse(status: story.status, fields: fields, body: [])
    }

    private static let refused = TransportFailure(reason: .connect, detail: "refused", mayHaveBeenSent: false)
}

/// One client's way to the provider, at the time it is.
struct FleetConnection: HTTPTransport {
    let provider: FleetProvider
    let client: Int
    let now: Int64
    let isWaiting: Bool

    func send(_ request: HTTPRequest) async -> Result<HTTPResponse, TransportFailure> {
        provider.answer(client, now: now, isWaiting: isWaiting)
    }
}
