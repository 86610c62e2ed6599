// SPDX-License-Identifier: Apache-2.0

@testable import VersolaKit

/// Answers requests by their kind, as told, and remembers them.
final class ScriptedTransport: HTTPTransport {
    typealias Answer = Result<HTTPResponse, TransportFailure>

    struct Sent: Sendable {
        var kind: RequestKind
        var request: HTTPRequest
        var at: BootMillis
        var form: [FormField] { FormEncoding.parse(String(decoding: request.body, as: UTF8.self)) }

        subscript(_ name: String) -> String? { form.first { $0.name == name }?.value }
    }

    /// One request on the wire, until the test lets it be answered.
    final class Held: Sendable {
        private let arrival = Outcome<Sent>()
        private let departure = Outcome<Answer?>()

        /// Waits until the request was sent.
        @discardableResult
        func sent() async throws -> Sent { try await arrival.result.get() }

        /// Answers it: as the script says, or as given.
        func release(_ answer: Answer? = nil) { departure.settle(.success(answer)) }

        fileprivate func wait(_ sent: Sent) async -> Answer? {
            arrival.settle(.success(sent))
            return try? await departure.result.get()
        }
    }

    private enum Step: Sendable {
        case answer(Answer)
        case hold(Held)
    }

    private struct State {
        var script: @Sendable (Sent) -> Answer = { _ in .failure(.connect) }
        var next: [RequestKind: [Step]] = [:]
        var sent: [Sent] = []
    }

    private let state = Lock(State())
    private let journal: Journal
    private let time: VirtualTime

    init(_ journal: Journal, _ time: VirtualTime) {
        self.journal = journal
        self.time = time
    }

    var sent: [Sent] { state.withLock { $0.sent } }
    func sent(_ kind: RequestKind) -> [Sent] { sent.filter { $0.kind == kind } }

    /// How every request is answered that nothing else was arranged for.
    func script(_ script: @escaping @Sendable (Sent) -> Answer) {
        state.withLock { $0.script = script }
    }

    /// Answers the next request of a kind this way; several calls queue up.
    func next(_ kind: RequestKind, _ answer: Answer) {
        state.withLock { $0.next[kind, default: []].append(.answer(answer)) }
    }

    /// Keeps the next request of a kind on the wire.
    func hold(_ kind: RequestKind) -> Held {
        let held = Held()
        state.withLock { $0.next[kind, default: []].append(.hold(held)) }
        return held
    }

    func send(_ request: HTTPRequest) async -> Answer {
        let sent = Sent(kind: Self.kind(of: request), request: request, at: time.boot)
        journal.note(.sent(sent.kind))
        let (step, script) = state.withLock { state in
            state.sent.append(sent)
            let step = state.next[sent.kind]?.isEmpty == false ? state.next[sent.kind]?.removeFirst() : nil
            return (step, state.script)
        }
        let answer =
            switch step {
            case .answer(let answer): answer
            case .hold(let held): await held.wait(sent) ?? script(sent)
            case nil: script(sent)
            }
        journal.note(.answered(sent.kind))
        return answer
    }

    private static func kind(of request: HTTPRequest) -> RequestKind {
        if request.url.hasSuffix("/.well-known/openid-configuration") { return .discovery }
        if request.url.hasSuffix("/jwks") { return .keySet }
        if request.url.hasSuffix("/revoke") { return .revocation }
        if request.url.hasSuffix("/userinfo") { return .userInfo }
        let body = String(decoding: request.body, as: UTF8.self)
        return body.contains("grant_type=refresh_token") ? .refresh : .codeExchange
    }
}

extension TransportFailure {
    /// Surely not processed.
    static let connect = TransportFailure(reason: .connect, detail: "refused", mayHaveBeenSent: false)
    static let timeout = TransportFailure(reason: .timeout, detail: "no answer", mayHaveBeenSent: true)
    static let reset = TransportFailure(reason: .reset, detail: "reset", mayHaveBeenSent: true)
}

extension Result<HTTPResponse, TransportFailure> {
    static func json(_ status: Int = 200, _ body: String, _ fields: [HTTPField] = []) -> Self {
        .success(
            HTTPResponse(
                status: status, fields: [HTTPField(name: "Content-Type", value: "application/json")] + fields,
                body: Array(body.utf8)))
    }

    static func status(_ status: Int) -> Self { json(status, "") }

    /// Whoever answers so wants to be left alone.
    static func retryAfter(_ value: String, _ status: Int = 429) -> Self {
        json(status, "slow down", [HTTPField(name: "Retry-After", value: value)])
    }

    static func oauthError(_ code: String, _ status: Int = 400) -> Self { json(status, "{\"error\":\"\(code)\"}") }
}
