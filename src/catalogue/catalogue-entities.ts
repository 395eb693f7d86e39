import { ProviderCredential } from './credential.entity';
import { Lane, Model, ModelAlias, Price, PriceSchedule, Provider } from './entities';

export const catalogueEntities = [
  Provider,
  Model,
  Lane,
  ModelAlias,
  Price,
  PriceSchedule,
  ProviderCredential,
];
