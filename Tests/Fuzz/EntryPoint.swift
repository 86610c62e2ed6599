// SPDX-License-Identifier: Apache-2.0
import Glibc

@testable import VersolaKit

/// What is fuzzed, by the name that `FUZZ_TARGET` gives. Each takes any bytes; it has failed when it traps, of itself or because
/// what was accepted breaks a rule that is judged here once more.
private let targets: [String: @Sendable ([UInt8]) -> Void] = [
    "challenge": fuzzChallenge,
    "idtoken": fuzzIDToken,
    "json": fuzzJSON,
    "jwks": fuzzJWKS,
    "jws": fuzzJWS,
    "loopback": fuzzLoopback,
    "metadata": fuzzMetadata,
    "record": fuzzRecord,
    "redirect": fuzzRedirect,
    "retry": fuzzRetry,
    "token": fuzzToken,
    "userinfo": fuzzUserInfo,
]

private let target: @Sendable ([UInt8]) -> Void = {
    let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = targets[name] else {
        preconditionFailure("FUZZ_TARGET is one of: \(targets.keys.sorted().joined(separator: " "))")
    }
    return target
}()

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

/// The parts of an input that has several, from the first line on; the last takes the rest.
func parts(_ input: [UInt8], _ count: Int) -> [[UInt8]] {
    let lines = input.split(
        separator: UInt8(ascii: "\n"), maxSplits: count - 1, omittingEmptySubsequences: false
    ).map(Array.init)
    return lines + Array(repeating: [], count: count - lines.count)
}

func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self)
}
