// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Listening sockets on loopback, non-blocking and close-on-exec.
///
/// `SO_REUSEADDR`: on Linux it lets a port be bound again whose old connections are in TIME_WAIT, which ours are because we
/// close first. It lets nobody in: while a socket listens, no second one can be bound to its address and port, and of two
/// that were bound before either listens only one succeeds in listening. `SO_REUSEPORT`, which would let another program of
/// this user share our port and receive the redirect, is never set.
enum LoopbackSocket {
    enum Family: Int32, Sendable {
        case v4 = 2  // AF_INET
        case v6 = 10  // AF_INET6
    }

    struct Bound: Equatable, Sendable {
        var descriptor: Int32
        var port: UInt16
    }

    /// The errno of what failed.
    struct Failure: Error, Equatable, Sendable {
        var code: Int32
        /// The family does not exist on this machine.
        var isFamilyMissing: Bool { code == EAFNOSUPPORT || code == EADDRNOTAVAIL || code == EPROTONOSUPPORT }
    }

    typealias Open = (Family, UInt16) throws(Failure) -> Bound

    /// Connections that may wait in the kernel: when it is full a browser's next attempt comes a second later.
    private static let backlog: Int32 = 128

    /// Listens on every family that exists here, all on one port.
    ///
    /// A port that is taken on one family fails the whole: a browser may try that family first, and then whoever listens
    /// there would get the code. A port we chose ourselves (0) is chosen again.
    static func listen(families: [Family], port: UInt16, open: Open = openOne) throws(Failure) -> [Bound] {
        var tries = 16
        while true {
            do throws(Failure) {
                return try listenOnce(families: families, port: port, open: open)
            } catch {
                tries -= 1
                guard port == 0, error.code == EADDRINUSE, tries > 0 else { throw error }
            }
        }
    }

    private static func listenOnce(families: [Family], port: UInt16, open: Open) throws(Failure) -> [Bound] {
        var bound: [Bound] = []
        var missing = Failure(code: EAFNOSUPPORT)
        for family in families {
            do throws(Failure) {
                bound.append(try open(family, bound.first?.port ?? port))
            } catch {
                guard error.isFamilyMissing else {
                    for socket in bound { close(socket.descriptor) }
                    throw error
                }
                missing = error
            }
        }
        guard !bound.isEmpty else { throw missing }
        return bound
    }

    /// One socket: bound to the family's loopback address, listening.
    static func openOne(_ family: Family, _ port: UInt16) throws(Failure) -> Bound {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family.rawValue, type, 0)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        do throws(Failure) {
            try setFlag(descriptor, SOL_SOCKET, SO_REUSEADDR)
            switch family {
            case .v4:
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = port.bigEndian
                address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
                return Bound(
                    descriptor: descriptor, port: UInt16(bigEndian: try bindAndListen(descriptor, &address).sin_port))
            case .v6:
                // Two sockets, two families: the v4 one is its own.
                try setFlag(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY)
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                address.sin6_port = port.bigEndian
                address.sin6_addr = in6addr_loopback
                return Bound(
                    descriptor: descriptor, port: UInt16(bigEndian: try bindAndListen(descriptor, &address).sin6_port))
            }
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func setFlag(_ descriptor: Int32, _ level: Int32, _ option: Int32) throws(Failure) {
        var on: Int32 = 1
        guard setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw Failure(code: errno)
        }
    }

    /// The address it is really bound to.
    private static func bindAndListen<Address>(
        _ descriptor: Int32, _ address: inout Address
    ) throws(Failure) -> Address {
        var length = socklen_t(MemoryLayout<Address>.size)
        let failed: Int32? = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                guard bind(descriptor, generic, length) == 0, Glibc.listen(descriptor, backlog) == 0,
                    getsockname(descriptor, generic, &length) == 0
                else { return errno }
                return nil
            }
        }
        if let failed { throw Failure(code: failed) }
        return address
    }
}
