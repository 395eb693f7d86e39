export { isProven } from './host-proof';
export { type ResellerDomain, ResellerDomains, wrongLogo } from './reseller-domains.service';
