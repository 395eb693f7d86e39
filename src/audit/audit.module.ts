import { Module } from '@nestjs/common';
import { RequestRecords } from './request-records';

@Module({ providers: [RequestRecords], exports: [RequestRecords] })
export class AuditModule {}
