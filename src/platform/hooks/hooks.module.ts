import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { HooksService } from './hooks.service';

@Module({ imports: [DiscoveryModule], providers: [HooksService], exports: [HooksService] })
export class HooksModule {}
