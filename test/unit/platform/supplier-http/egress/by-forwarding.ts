import { runThroughProxy } from './by-proxy';

runThroughProxy({});
