/* Repeats the direct-call cases through a forwarding proxy, which passes every response on as the supplier wrote it. */
import './by-forwarding';
import '../wire/broken-answers.test';
import '../wire/connection-pool.test';
import '../wire/interrupted-answers.test';
import '../wire/paused-answers.test';
import '../wire/sent-requests.test';
import '../wire-transport.test';
