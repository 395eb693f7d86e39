import { Module } from '@nestjs/common';
import { Refusals } from './refusals';
import { RequestRecordQuery } from './request-record-query';
import { RequestRecords } from './request-records';

const providers = [Refusals, RequestRecords, RequestRecordQuery];

@Module({ providers, exports: providers })
export class AuditModule {}
