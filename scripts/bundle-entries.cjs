'use strict';
// The artefact is made of these entries: the service, its command line, and the supervisor of several processes.
const fs = require('node:fs');
const { inProject } = require('./bootstrap/run.cjs');

const rooms = fs
  .readdirSync(inProject('src'))
  .filter((name) => fs.existsSync(inProject('src', name, 'index.ts')));

/**
 * Each place lies as deep below dist as the compiled file, as paths are looked up beside it. It has the
 * module it starts with, and what it offers beside that. `npm start` reaches none of the latter; tests and
 * proofs use what ships with it.
 */
const entries = {
  'boot/service': {
    start: 'boot/run-service',
    offers: [
      ...rooms,
      'admin/observability/incidents/incident-log',
      'admin/observability/incidents/incident-watch',
      'audit/usage/latency-steps',
      'billing/engine/settlement/journal-frames',
      'billing/engine/settlement/journal-owner',
      'billing/engine/settlement/journal-replay',
      'billing/engine/settlement/refused-records',
      'billing/engine/store/money-store',
      'billing/engine/store/postgres-money-store',
      'billing/ledger/verify-money',
      'billing/processor/events',
      'billing/promotions/promotion-store',
      'boot/app.module',
      'boot/packages',
      'boot/run-service',
      'boot/sandbox',
      'boot/start-service',
      'catalogue/snapshot-loader',
      'chat/conversation-content',
      'autorouter/choice/auto-retries',
      'gateway/intake/describe',
      'gateway/admission/input-bound',
      'gateway/media/audio-length',
      'gateway/media/audio-meter',
      'gateway/operations/operation',
      'gateway/attempt/outbound',
      'keys/key-text',
      'keys/rate/rate-windows',
      'keys/rate/redis-windows',
      'platform/config/index',
      'platform/database/connection-url',
      'platform/database/data-source',
      'platform/database/embedded-postgres',
      'platform/database/embedded/processes',
      'platform/database/index',
      'platform/database/migrate',
      'platform/logging/index',
      'platform/mail/index',
      'platform/mail/mail-transport',
      'platform/metrics/alert-rules',
      'platform/metrics/index',
      'platform/metrics/metrics-page',
      'platform/queue/index',
      'platform/queue/queue-connection',
      'platform/redis/index',
      'platform/secrets/index',
      'portal/notices/personal-notices',
      'portal/public/legal/legal-library',
      'quality/loop/evaluation-queue',
      'quality/loop/evaluation-maintenance',
      'quality/settings/quality-policies',
      'autorouter/engine/appraise',
      'autorouter/engine/features',
      'autorouter/engine/index',
      'autorouter/engine/lexicon',
      'routing/suppliers/kit/steering',
      'routing/suppliers/native-oauth/token-pool',
      'routing/suppliers/openai-style/profiles',
      'routing/suppliers/registry',
      'routing/suppliers/supplier-client',
      'web/idempotency/idempotency-store',
      '../migrations',
      '../packages/extension/src/index',
    ],
  },
  'boot/supervisor': { start: 'platform/processes/supervise', offers: [] },
  'boot/commands': {
    start: 'commands/run-command',
    offers: [
      'commands/processor-check',
      'commands/run-command',
      'commands/sealed-columns',
      '../packages/extension/src/kit/index',
    ],
  },
};

const nameOf = (part) => part.replace('../', '');

module.exports = { entries, nameOf };
