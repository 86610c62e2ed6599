// SPDX-License-Identifier: Apache-2.0
@testable import VersolaKit

private let endpoint = LoopbackEndpoint(host: "127.0.0.1", port: 8080, path: "/cb")

/// The bytes that a browser, or anybody else, sends to the loopback port.
@Sendable
func fuzzLoopback(_ input: [UInt8]) {
    let parsed = LoopbackRequest.parse(input)
    // However the bytes are cut, the verdict is the same.
    for cut in Set([1, input.count / 2, input.count - 1]) where cut > 0 && cut < input.count {
        if LoopbackRequest.parse(Array(input[..<cut])) == .incomplete {
            precondition(LoopbackRequest.parse(input, scanned: cut) == parsed)
        }
    }
    guard case .request(let request) = parsed else { return }
    _ = try? endpoint.query(of: request)
    let languages = request.values("Accept-Language").joined(separator: ",")
    _ = ResultPageRenderer.response(to: .result(.pending), acceptLanguage: languages, withBody: true)
}
