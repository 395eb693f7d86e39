import { Injectable } from '@nestjs/common';
import { Logger, Settings } from '../../platform';
import { CredentialAlarm, LaneHealth, Stickiness, SupplierClient, SupplierStyles } from '../../routing';

@Injectable()
export class AttemptTools {
  constructor(
    readonly client: SupplierClient,
    readonly styles: SupplierStyles,
    readonly health: LaneHealth,
    readonly stickiness: Stickiness,
    readonly settings: Settings,
    readonly credentials: CredentialAlarm,
    readonly logger: Logger,
  ) {}
}
