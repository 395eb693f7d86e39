import { Module } from '@nestjs/common';
import { RequestRecordQuery } from './request-record-query';
import { RequestRecords } from './request-records';

@Module({ providers: [RequestRecords, RequestRecordQuery], exports: [RequestRecords, RequestRecordQuery] })
export class AuditModule {}
