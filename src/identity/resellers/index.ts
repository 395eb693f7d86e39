export { type ResellerDomain, ResellerDomains } from './reseller-domains.service';
