import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { APP_FILTER, ModulesContainer } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import { AuditModule } from '../audit';
import { IdentityModule } from '../identity';
import { MINUTE_MS } from '../kernel';
import { KeysModule, RateStorage } from '../keys';
import { Settings } from '../platform';
import { ViewsModule } from '../views';
import { refuseHandlersWithoutAccess } from './boot-check';
import { ClientAddress } from './client-address';
import { ErrorFrame } from './errors/error-frame';
import { FaultFilter } from './errors/fault.filter';
import { Notices } from './notices';
import { FormDeclarations } from './pages/form-declarations';
import { PageFrames } from './pages/page-frame';
import { PageRenderer } from './pages/page-renderer';
import { RefusedForms } from './pages/refused-forms';
import { PortalBody } from './portal-body.interceptor';
import { PortalHosts } from './portal-hosts';
import { securityHeaders } from './security-headers';

@Module({
  imports: [
    AuditModule,
    IdentityModule,
    KeysModule,
    ViewsModule,
    ThrottlerModule.forRootAsync({
      imports: [KeysModule],
      inject: [Settings, RateStorage],
      useFactory: ({ publicRequestsPerMinute: limit }: Settings, storage: RateStorage) => ({
        throttlers: [{ name: 'public', ttl: MINUTE_MS, limit }],
        storage,
        setHeaders: false,
      }),
    }),
  ],
  providers: [
    ErrorFrame,
    FormDeclarations,
    PageFrames,
    PageRenderer,
    RefusedForms,
    Notices,
    ClientAddress,
    PortalBody,
    PortalHosts,
    { provide: APP_FILTER, useClass: FaultFilter },
  ],
  exports: [
    PageFrames,
    PageRenderer,
    Notices,
    ClientAddress,
    PortalBody,
    PortalHosts,
    AuditModule,
    IdentityModule,
    KeysModule,
  ],
})
export class WebModule implements NestModule {
  constructor(
    private readonly modules: ModulesContainer,
    private readonly hosts: PortalHosts,
  ) {}

  configure(consumer: MiddlewareConsumer): void {
    refuseHandlersWithoutAccess(this.modules);
    consumer.apply(securityHeaders, this.hosts.check).forRoutes('{*path}');
  }
}
