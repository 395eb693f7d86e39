import { Injectable } from '@nestjs/common';
import { Logger, Settings } from '../../platform';
import { CredentialAlarm, LaneHealth, SupplierClient, SupplierStyles } from '../../routing';
import { Tracing } from '../trace/tracing';
import { ReasoningOwners } from './reasoning-owners';

@Injectable()
export class AttemptTools {
  readonly owners = new ReasoningOwners();

  constructor(
    readonly client: SupplierClient,
    readonly styles: SupplierStyles,
    readonly health: LaneHealth,
    readonly settings: Settings,
    readonly credentials: CredentialAlarm,
    readonly logger: Logger,
    readonly tracing: Tracing,
  ) {}
}
