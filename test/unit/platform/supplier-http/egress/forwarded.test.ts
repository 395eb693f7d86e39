/* The cases of direct calls once more, passed on by a proxy. Every answer comes as the supplier wrote it. */
import './by-forwarding';
import '../wire/broken-answers.test';
import '../wire/connection-pool.test';
import '../wire/interrupted-answers.test';
import '../wire/paused-answers.test';
import '../wire/sent-requests.test';
import '../wire-transport.test';
