/**
 * Before the first test: takes `NODE_EXTRA_CA_CERTS` away from the tests and everything they start. Node 20 reads and parses every certificate of
 * that file at each start (45 ms of the processor for Debian's list, where a bare start is 25), and nothing here speaks to the world. Tests of the variable set it.
 */
export default function setup(): void {
  delete process.env.NODE_EXTRA_CA_CERTS;
}
