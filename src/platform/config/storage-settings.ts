import 'reflect-metadata';
import { byteSize, oneOf } from './readers';
import { ServiceSettings } from './service-settings';
import { Setting } from './setting.decorator';

export abstract class StorageSettings extends ServiceSettings {
  @Setting({
    name: 'IDEMPOTENT_ANSWER_LIMIT',
    group: 'Server',
    describe: 'The largest answer that is kept for a day to be repeated for its Idempotency-Key.',
    as: byteSize('1KiB', '64MiB'),
    default: '8MiB',
  })
  readonly idempotentAnswerLimitBytes: number;

  @Setting({
    name: 'IDEMPOTENT_ANSWERS_KEY_LIMIT',
    group: 'Server',
    describe:
      'Total size of the answers kept for one API key to be repeated for their Idempotency-Key; the oldest are removed first.',
    as: byteSize('1MiB', '1024GiB'),
    default: '64MiB',
  })
  readonly idempotentAnswersKeyLimitBytes: number;

  @Setting({
    name: 'RESPONSES_STORE',
    group: 'Server',
    describe:
      'Whether answers of /v1/responses are kept for a day, encrypted, so that item_reference and previous_response_id work; off: both are refused.',
    as: oneOf('on', 'off'),
    default: 'on',
  })
  readonly responsesStore: 'on' | 'off';

  @Setting({
    name: 'RESPONSES_STORE_ANSWER_LIMIT',
    group: 'Server',
    describe: 'The largest answer of /v1/responses that is kept, and the largest input that is kept with it.',
    as: byteSize('1KiB', '64MiB'),
    default: '8MiB',
  })
  readonly responsesStoreAnswerLimitBytes: number;

  @Setting({
    name: 'RESPONSES_STORE_KEY_LIMIT',
    group: 'Server',
    describe: 'How much of that is kept for one key, beside at most 20,000 answers; the oldest go first.',
    as: byteSize('64KiB', '1024GiB'),
    default: '256MiB',
  })
  readonly responsesStoreKeyLimitBytes: number;

  @Setting({
    name: 'CHAT_ATTACHMENTS_USER_LIMIT',
    group: 'Server',
    describe:
      'Total size of the attachments that one user can keep in conversations of the web chat; more are refused.',
    as: byteSize('1MiB', '1024GiB'),
    default: '200MiB',
  })
  readonly chatAttachmentsUserLimitBytes: number;
}
