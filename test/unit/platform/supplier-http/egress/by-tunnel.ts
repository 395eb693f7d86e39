import { tls, runThroughProxy } from './by-proxy';

runThroughProxy({ tls });
