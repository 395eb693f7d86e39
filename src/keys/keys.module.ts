import { Module } from '@nestjs/common';
import { IdentityModule } from '../identity';
import { KeyDirectory } from './key-directory';
import { KeysService } from './keys.service';

@Module({
  imports: [IdentityModule],
  providers: [KeyDirectory, KeysService],
  exports: [KeyDirectory, KeysService],
})
export class KeysModule {}
