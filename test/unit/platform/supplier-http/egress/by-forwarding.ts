import { tryByProxy } from './by-proxy';

tryByProxy({});
