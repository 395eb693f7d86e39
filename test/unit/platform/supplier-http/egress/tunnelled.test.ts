/* Repeats the direct-call cases, encrypted and through the tunnel of a proxy. */
import './by-tunnel';
import '../wire/broken-answers.test';
import '../wire/connection-pool.test';
import '../wire/interrupted-answers.test';
import '../wire/paused-answers.test';
import '../wire/sent-requests.test';
