import { Injectable } from '@nestjs/common';
import { isAdministrator, type Scope } from '../../../kernel';
import { QualitySettingsStore } from '../../../quality';
import { actorOf, type HttpRequest, viewScope } from '../../../web';

/** `off`: nothing is judged. `closed`: it is, and this reader may not see it. */
export type QualityView =
  { readonly state: 'off' | 'closed' } | { readonly state: 'open'; readonly scope: Scope };

/** The organisation decides who may read quality reports. */
@Injectable()
export class QualityAccess {
  constructor(private readonly settings: QualitySettingsStore) {}

  async of(request: HttpRequest): Promise<QualityView> {
    const { role, organisationId: own } = actorOf(request);
    const scope = viewScope(request);
    if (scope.kind === 'platform') return { state: 'open', scope };
    const organisationId = 'organisationId' in scope ? scope.organisationId : own;
    if (organisationId === null) return { state: 'off' };
    const { availability } = await this.settings.inForce(organisationId);
    if (availability === 'off') return { state: 'off' };
    if (availability === 'admins' && !isAdministrator(role)) return { state: 'closed' };
    return { state: 'open', scope };
  }
}
