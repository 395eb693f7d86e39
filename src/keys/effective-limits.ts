import { Injectable } from '@nestjs/common';
import { isBudget, limitRefs, Limits } from '../billing';
import { PayerService } from '../identity';
import { Settings } from '../platform';
import { sharedRegions } from './key-directory';
import { presentBudget } from './key-presenter';
import type { ManagedKey } from './managed-key';

/** What limits the requests of a key, whoever set it. */
@Injectable()
export class EffectiveLimits {
  constructor(
    private readonly limits: Limits,
    private readonly payers: PayerService,
    private readonly settings: Settings,
  ) {}

  async of(key: ManagedKey) {
    const standing = await this.payers.standingOf(key);
    const budgets = limitRefs({ ...standing, keyId: key.id, walletId: null }).filter(isBudget);
    const regions = sharedRegions(key.allowedRegions, standing.organisationRegions);
    return {
      rate_limit_rpm: key.rateLimitRpm ?? this.settings.keyRateLimitRpm,
      allowed_regions: regions && [...regions],
      unknown_fields: key.unknownFields ?? standing.unknownFields ?? this.settings.unknownFields,
      ...presentBudget(await this.limits.tightest(budgets)),
    };
  }
}
