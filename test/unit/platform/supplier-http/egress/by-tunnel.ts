import { tls, tryByProxy } from './by-proxy';

tryByProxy({ tls });
