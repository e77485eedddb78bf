// Loaded before every test file: nock stays out of the way except in suites that switch it on. Merely imported by one test
// file it would sit between every socket of the process and its user, and HTTP/2 would no longer be negotiated.
import nock from 'nock';

nock.restore();
