// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

@Suite struct JOSEVectorTests {
    @Test(arguments: signatureVectors)
    func publishedSignatures(vector: SignatureVector) throws {
        let keys = try keySet(vector.key)
        #expect((rejection(vector.token, keys) == nil) == vector.accepted)
    }

    @Test(arguments: signatureVectors.filter(\.accepted))
    func oneChangedBitAnywhereIsRefused(vector: SignatureVector) throws {
        let keys = try keySet(vector.key)
        let token = Array(vector.token.utf8)
        for index in stride(from: 0, to: token.count, by: 7) {
            var changed = token
            changed[index] ^= 1
            #expect(rejection(String(decoding: changed, as: UTF8.self), keys) != nil)
        }
    }
}
