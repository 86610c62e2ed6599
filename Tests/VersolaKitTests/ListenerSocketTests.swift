// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import VersolaKit

@Suite struct ListenerSocketTests {
    private typealias Socket = LoopbackSocket

    private func option(_ descriptor: Int32, _ option: Int32, level: Int32 = SOL_SOCKET) -> Int32 {
        var value: Int32 = -1
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, level, option, &value, &length)
        return value
    }

    @Test func socketsAreNotSharedNotInheritedAndDoNotBlock() throws {
        for family in [Socket.Family.v4, .v6] {
            let bound = try Socket.openOne(family, 0)
            defer { close(bound.descriptor) }
            #expect(bound.port != 0)
            #expect(option(bound.descriptor, SO_REUSEPORT) == 0)
            #expect(option(bound.descriptor, SO_ACCEPTCONN) == 1)
            #expect(fcntl(bound.descriptor, F_GETFD) & FD_CLOEXEC != 0)
            #expect(fcntl(bound.descriptor, F_GETFL) & O_NONBLOCK != 0)
        }
    }

    @Test func ipv6SocketLeavesIPv4Alone() throws {
        let bound = try Socket.openOne(.v6, 0)
        defer { close(bound.descriptor) }
        #expect(option(bound.descriptor, IPV6_V6ONLY, level: Int32(IPPROTO_IPV6)) == 1)
        // On the same port, which a dual-stack socket would refuse.
        let twin = try Socket.openOne(.v4, bound.port)
        close(twin.descriptor)
    }

    @Test func nobodyElseGetsThePortWhileWeListen() throws {
        let bound = try Socket.openOne(.v4, 0)
        defer { close(bound.descriptor) }
        for flags in [[SO_REUSEADDR], [SO_REUSEPORT], [SO_REUSEADDR, SO_REUSEPORT]] {
            for host in [UInt32(0x7f00_0001), 0] {
                let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                defer { close(other) }
                var on: Int32 = 1
                for flag in flags { setsockopt(other, SOL_SOCKET, flag, &on, socklen_t(MemoryLayout<Int32>.size)) }
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = bound.port.bigEndian
                address.sin_addr.s_addr = host.bigEndian
                let result = withUnsafePointer(to: address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        bind(other, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                #expect(result == -1 && errno == EADDRINUSE)
            }
        }
    }

    /// Opens from a script; descriptors are -1, so that closing them does nothing.
    private func scripted(
        _ answers: [Result<UInt16, Socket.Failure>], families: [Socket.Family] = [.v4, .v6], port: UInt16 = 0
    ) -> (outcome: Result<[UInt16], Socket.Failure>, asked: [UInt16]) {
        var rest = answers[...]
        var asked: [UInt16] = []
        do throws(Socket.Failure) {
            let bound = try Socket.listen(families: families, port: port) { (_, port) throws(Socket.Failure) in
                asked.append(port)
                guard let answer = rest.popFirst() else { throw Socket.Failure(code: EADDRINUSE) }
                return Socket.Bound(descriptor: -1, port: try answer.get())
            }
            return (.success(bound.map(\.port)), asked)
        } catch {
            return (.failure(error), asked)
        }
    }

    @Test func chosenPortIsChosenAgainWhenItsTwinIsTaken() {
        let taken = Socket.Failure(code: EADDRINUSE)
        let run = scripted([.success(4001), .failure(taken), .success(4002), .success(4002)])
        #expect(run.outcome == .success([4002, 4002]))
        #expect(run.asked == [0, 4001, 0, 4002])
    }

    @Test func choosingEnds() {
        #expect(scripted([]).outcome == .failure(.init(code: EADDRINUSE)))
        #expect(scripted([]).asked.count == 16)
    }

    @Test func givenPortIsNotChosenAgain() {
        let taken = Socket.Failure(code: EADDRINUSE)
        let run = scripted([.success(4001), .failure(taken)], port: 4001)
        #expect(run.outcome == .failure(taken))
        #expect(run.asked == [4001, 4001])
    }

    @Test func machineWithoutOneFamilyListensOnTheOther() {
        for code in [EAFNOSUPPORT, EADDRNOTAVAIL] {
            let missing = Socket.Failure(code: code)
            #expect(scripted([.success(4001), .failure(missing)]).outcome == .success([4001]))
            #expect(scripted([.failure(missing), .success(4001)]).outcome == .success([4001]))
            #expect(scripted([.failure(missing)], families: [.v6]).outcome == .failure(missing))
        }
    }
}
