import { defineExtension } from '@switchboard/extension';
import { echoStyle } from './echo-style';

/**
 * Teaches the gateway to speak to "echo", a model server that a team has written for itself. A provider in gateway.yaml
 * then says `style: echo`; everything else (keys, prices, regions, failover, records) is as for any supplier.
 */
export default defineExtension({
  id: 'echo-supplier',
  version: '1.0.0',
  host: '^1',
  setup: () => ({ suppliers: [echoStyle] }),
});
