// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
    name: "versola",
    products: [
        .library(name: "versola", type: .dynamic, targets: ["VersolaFFI"]),
        .library(name: "VersolaKit", targets: ["VersolaKit"]),
    ],
    targets: [
        .systemLibrary(name: "CVersola", path: "include"),
        .target(
            name: "CShims",
            linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]
        ),
        .target(name: "VersolaKit", dependencies: ["CShims"], swiftSettings: strict),
        .target(name: "VersolaFFI", dependencies: ["CVersola", "CShims", "VersolaKit"], swiftSettings: strict),
        // No product and in no release; outside a debug build it needs `-Xswiftc -enable-testing` (`make fleet`).
        .executableTarget(
            name: "fleet", dependencies: ["VersolaKit"], path: "Benchmarks/Fleet", swiftSettings: strict),
        .testTarget(
            name: "VersolaKitTests", dependencies: ["CShims", "VersolaKit", "fleet"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c11
)

// What is linked with libFuzzer has no main() of its own and would break every other build (`make fuzz`).
if Context.environment["VERSOLA_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "Fuzz", dependencies: ["CShims", "VersolaKit"], path: "Tests/Fuzz", exclude: ["corpus", "words"],
            swiftSettings: strict))
}
