import { ApiKey } from './api-key.entity';

export type { KeyKind, KeyStatus } from './api-key.entity';
export type { Caller } from './caller';
export { KeyDirectory } from './key-directory';
export { maskKey } from './key-text';
export { type IssuedKey, KeysService, type NewKey } from './keys.service';
export { KeysModule } from './keys.module';

export const keyEntities = [ApiKey];
