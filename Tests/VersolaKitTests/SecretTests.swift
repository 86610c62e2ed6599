// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VersolaKit

@Suite struct SecretTests {
    @Test func printsAsNothing() {
        let secret = Secret("correct horse")
        #expect("\(secret)" == "(secret)")
        #expect(!String(reflecting: secret).contains("horse"))
        #expect(secret.text == "correct horse")
    }
}
