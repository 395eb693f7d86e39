/** Packages as the artefact holds them: a second copy has other classes and notes of its own, which nobody finds. */
export { Logger } from '@nestjs/common';
export { APP_FILTER, DiscoveryService, MetadataScanner, ModulesContainer, NestFactory } from '@nestjs/core';
export { Type } from 'class-transformer';
