/* The cases of direct calls once more, encrypted and in the tunnel of a proxy. */
import './by-tunnel';
import '../wire/broken-answers.test';
import '../wire/connection-pool.test';
import '../wire/interrupted-answers.test';
import '../wire/paused-answers.test';
import '../wire/sent-requests.test';
