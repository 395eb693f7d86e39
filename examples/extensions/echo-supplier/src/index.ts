import { defineExtension } from '@switchboard/extension';
import { echoStyle } from './echo-style';

/**
 * Adds support for "echo", a model server that a team has written itself. A provider in gateway.yaml then sets `style:
 * echo`; everything else (keys, prices, regions, failover, records) works as for any supplier.
 */
export default defineExtension({
  id: 'echo-supplier',
  version: '1.0.0',
  host: '^1',
  setup: () => ({ suppliers: [echoStyle] }),
});
