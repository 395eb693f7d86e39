import { Module } from '@nestjs/common';
import { Settings } from '../config';
import { MasterKeys } from './master-keys';
import { SecretBox } from './secret-box';

@Module({
  providers: [
    {
      provide: SecretBox,
      inject: [Settings],
      useFactory: ({ masterKey }: Settings) => new SecretBox(MasterKeys.parse(masterKey)),
    },
  ],
  exports: [SecretBox],
})
export class SecretsModule {}
